"""What send and sendmany are made of: the topic that is meant, the lines of a file, and how far they are written."""
