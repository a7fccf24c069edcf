# pipeline
# materialize manual lake://main/t
def main(spark) -> None:
    spark.range(1).writeTo("main.t").append()
# ===> becomes
# main at line 3
# spark = injected spark
# writes lake://main/t
