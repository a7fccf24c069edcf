l
ls
st
mp
[1, 2, 3]
[i, j]
[]::INTEGER[]
[s, u]
[[1], [2, 3]]
l[1]
l[-1]
l[2]
l[99]
ls[1]
l[i % 3 + 1]
[1, 2, 3][2:3]
[1, 2, 3][2:]
[1, 2, 3][:2]
l[1:2]
l[2:]
l[-2:]
len([1, 2])
len(l)
length(ls)
len(string_split(s, 'o')) + len(l) + len(s)
array_length(ls)
len(list_concat(ls, ls))
[1] || [2, 3]
list_concat(l, [9])
list_concat(l, NULL)
list_append(l, 4)
list_contains(l, 2)
list_contains(l, i)
list_has(ls, 'a')
list_contains([1, NULL], 3)
list_sort(l)
array_sort(ls)
list_sort([3, 1, NULL, 2])
list_reverse(l)
list_min(l)
list_max(l)
flatten([[1, 2], [3]])
flatten([l, l])
list_extract(l, 2)
list_value(1, 2)
list_transform(l, lambda q: q + 1)
list_transform(l, q -> q + i % 7)
list_filter(l, q -> q > 1)
list_filter(l, lambda q: q IS NOT NULL)
[q * 2 for q in l]
[q * 2 for q in l if q > 1]
[upper(q) for q in ls]
list_transform(list_filter(l, q -> q > 1), q -> q * 10)
{'a': 1, 'b': i}
{'a': s, 'b': {'c': d}}
st.a
st.b
{'a': 5}['a']
struct_pack(p := i, q := s)
struct_extract(st, 'b')
MAP {'a': 1, 'b': 2}
MAP {1: 'x'}
MAP(['p', 'q'], [1, 2])
mp['k']
mp['none']
MAP {'a': 1}['a']
map_keys(mp)
map_values(mp)
cardinality(mp)
range(5)
range(1, 4)
range(0, 10, 3)
range(5, 0, -2)
range(3, 1)
generate_series(1, 3)
generate_series(3, 1)
array_to_string(['a', 'b'], '-')
array_to_string(ls, '|')
array_to_string([x::VARCHAR FOR x IN l], '|')
array_to_string(string_split('x y', ' '), '+')
string_split(s, ' ')[1]
len(string_split(s, 'o'))
list_contains(string_split(s, ' '), 'World')
list_pack(1, 2)
array_transform(l, lambda q: q - 1)
list_apply(l, lambda q: q * 2)
array_apply(l, lambda q: q * 3)
array_filter(l, lambda q: q < 3)
array_contains(l, 5)
array_has(ls, 'x')
array_concat(l, l)
list_cat(ls, ls)
array_cat(l, [0])
array_append(l, NULL)
array_push_back(l, 1)
array_reverse(ls)
list_element(l, 1)
array_extract(l, -1)
array_to_string([NULL, NULLIF(u, u)], ',')
array_to_string(string_split(u, ','), '-')
l = [NULL, 5]
l IN ([1, 2, 3], [42])
[1, NULL] IS NOT DISTINCT FROM [1, NULL]
list_transform([[1, 2], [3]], lambda x: list_transform(x, lambda x: x * 2))
coalesce(l, [])
(SELECT list(id ORDER BY id) FROM orders o WHERE o.qty = v.j)
