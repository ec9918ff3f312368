"""The machine that Spark runs on: Java, Python workers, credentials, and errors told plainly."""
