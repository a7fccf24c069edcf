abs(i)
abs(n)
abs(x)
@i
sign(i)
sign(n)
sign(y)
sign(x)
round(n, 1)
round(m, 2)
round(n)
round(i, 0)
round(y::DOUBLE, 1)
round(x::DOUBLE)
round(1.005::DOUBLE, 2)
round(2.675::DOUBLE, 2)
round(-2.5::DOUBLE)
round(0.5::DOUBLE)
round(2.345::DECIMAL(10,3), 2)
round(-2.345::DECIMAL(10,3), 2)
ceil(y::DOUBLE)
floor(y::DOUBLE)
ceil(x)
floor(x)
ceil(n::DECIMAL(10,2))
floor(n::DECIMAL(10,2))
ceiling(1.1::DOUBLE)
floor(-1.5)
ceil(1.5)
sqrt(y * y)
sqrt(2)
sqrt(i * i::DOUBLE)
pi()
isnan(x)
x = 'nan'::DOUBLE
x > 5
greatest(x, y)
n / 3 * 3
i * 1.1
i * 1.5::DOUBLE
g + 0
g - g
n::DOUBLE / 7
0.1 + 0.2
0.1::DOUBLE + 0.2::DOUBLE
1.10 * 1.10
100 * 0.07
divide(i, 3)
y::FLOAT + y::FLOAT
y::FLOAT + x
y::FLOAT * y::FLOAT
y::FLOAT = y
