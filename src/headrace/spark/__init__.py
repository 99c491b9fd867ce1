"""Running a topology as one Spark query. The only package that imports pyspark."""
