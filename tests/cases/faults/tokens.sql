-- pipeline
-- partitioned daily
-- materialize lake://main/out
SELECT {partition}, $nope, 'a{partition}b' AS
  `{partition}`,
  _tranche_partition
FROM mian.orders
JOIN read_json('data/{partition}.json')
JOIN read_csv(path)
-- ===> becomes
tokens.sql:4: $nope is not declared; add the line $nope (<type>) at the top
tokens.sql:4: the token stands inside the longer literal 'a{partition}b'; write 'a' || '{partition}' || 'b'
tokens.sql:4: the token stands without quotes; write '{partition}'
tokens.sql:5: the token stands in the name '{partition}'; a key is a value; compare a column with it
tokens.sql:6: the SELECT projects _tranche_partition, which Tranche manages; leave it out, or give the column another name
tokens.sql:7: unknown lake 'mian'; did you mean 'main'?
tokens.sql:8: the token stands inside the longer literal 'data/{partition}.json'; write 'data/' || '{partition}' || '.json'
tokens.sql:9: read_csv: the path is made of literals, '{partition}' and $arguments; write it as read_csv('folder/' || '{partition}' || '.csv', option => 'value')
