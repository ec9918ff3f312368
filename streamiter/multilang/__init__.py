"""Any language: the Kinesis Client Library's MultiLang protocol, both ends; nothing is loaded before it is asked for."""
