"""The operator is killed in the middle of an admission: who comes after it finishes the gang and admits nobody twice."""
