"""Expressions: conditions, filters, projections and updates of DynamoDB: a grammar of our own, pure, about values alone."""
