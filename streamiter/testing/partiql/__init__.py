"""PartiQL: statements, done by the operations on tables that they stand for."""
