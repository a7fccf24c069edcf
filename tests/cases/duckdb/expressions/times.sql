d + 1
d - 1
d::DATE - DATE '2024-01-01'
d::DATE - e::DATE
d + INTERVAL 1 DAY
d + INTERVAL 1 MONTH
d - INTERVAL 1 YEAR
ts + INTERVAL 1 DAY
ts + INTERVAL '2 hours'
ts - INTERVAL 90 MINUTE
ts + INTERVAL 1 MONTH
ts + INTERVAL 3 SECOND
ts + INTERVAL 1 WEEK
ts + INTERVAL 1 QUARTER
ts + INTERVAL 500 MILLISECOND
d + INTERVAL (i % 10) DAY
ts + INTERVAL (i % 5) MONTH
ts + INTERVAL (i % 20) HOUR
INTERVAL 1 DAY + d
tz + INTERVAL 1 DAY
tz + INTERVAL 1 HOUR
tz - INTERVAL 1 MONTH
date_add(d, INTERVAL 2 DAY)
year(d)
month(ts)
day(d)
quarter(d)
week(d)
weekofyear(ts)
dayofweek(d)
isodow(d)
dayofyear(d)
hour(ts)
minute(ts)
second(ts)
hour(d)
year(tz)
hour(tz)
isoyear(d)
decade(d)
date_part('year', d)
date_part('dow', ts)
date_part('doy', d)
date_part('epoch', ts)
extract(month FROM d)
extract(isodow FROM ts)
extract(epoch FROM tz)
epoch(ts)
epoch(d)
epoch(tz)
epoch_ms(ts::TIMESTAMP)
epoch_us(ts::TIMESTAMP)
epoch_ms(tz::TIMESTAMPTZ)
date_trunc('month', d)
date_trunc('month', ts)
date_trunc('month', tz)
date_trunc('year', d)
date_trunc('quarter', ts)
date_trunc('week', d)
date_trunc('day', ts)
date_trunc('day', tz)
date_trunc('hour', ts)
date_trunc('minute', ts)
date_trunc('second', te)
date_trunc('hour', d)
date_trunc('month', ts)::DATE
date_diff('day', d, e)
date_diff('month', d, e)
date_diff('year', e, d)
date_diff('quarter', d, e)
date_diff('week', d, e)
date_diff('hour', ts, te)
date_diff('minute', ts, te)
date_diff('second', te, ts)
datediff('day', ts, te)
date_diff('day', tz, ts)
dayname(d)
monthname(ts)
last_day(d)
last_day(ts)
make_date(2024, 2, 29)
make_date(year(d), month(d), 1)
make_timestamp(2024, 1, 2, 3, 4, 5.678)
to_timestamp(0)
to_timestamp(1704067200.5)
to_timestamp(g % 1000000)
strftime(d, '%Y-%m-%d')
strftime(ts, '%Y-%m-%d %H:%M:%S')
strftime(ts, '%d/%m/%y %I:%M %p')
strftime(ts, '%A, %-d %B %Y')
strftime(ts, '%a %b %j')
strftime(d, '%G-W%V')
strftime(d, '%u %w')
strftime(ts, '%H:%M:%S.%f')
strftime(te, '%-H %-M %-S %-I')
strftime(ts, '100%% at %x %T')
strftime(ts, 'it''s %Y')
strftime(tz, '%Y-%m-%dT%H')
strptime('2024-01-02', '%Y-%m-%d')
strptime('2024-1-2', '%Y-%m-%d')
strptime('02/01/2024 03:04:05', '%d/%m/%Y %H:%M:%S')
strptime('20240102', '%Y%m%d')
strptime('2024-01-02T03:04', '%Y-%m-%dT%H:%M')
strptime('1/2/2024', '%m/%d/%Y')::DATE
(TIMESTAMP '2024-01-01 12:00:00') AT TIME ZONE 'Europe/Paris'
(TIMESTAMP '2024-07-01 12:00:00') AT TIME ZONE 'America/New_York'
(TIMESTAMPTZ '2024-01-01 12:00:00+00') AT TIME ZONE 'Europe/Paris'
tz::TIMESTAMPTZ AT TIME ZONE 'Asia/Kolkata'
ts::TIMESTAMP AT TIME ZONE 'Asia/Kolkata'
current_date = today()
now() > TIMESTAMPTZ '2024-01-01 00:00:00+00'
current_date > DATE '2024-01-01'
now() = current_timestamp
strftime(ts + INTERVAL 10000 YEAR, '%Y')
strftime(DATE '0999-01-01', '%Y')
date_trunc('week', ts)
date_trunc('year', tz)
date_diff('week', ts, te)
date_diff('month', ts, te)
date_diff('hour', d, e)
ts - INTERVAL 1 MICROSECOND
d + INTERVAL 13 MONTH
d >= '2024-01-01' AND d < DATE '2024-02-01' + INTERVAL 1 MONTH
ts::DATE = d
d + i % 7
extract(hour FROM ts)
ts BETWEEN '2024-01-01' AND '2024-12-31'
get_current_timestamp() = now()
datepart('month', d)
weekday(d)
dayofmonth(ts)
datetrunc('month', d)
ts + INTERVAL (y) SECOND
ts + INTERVAL (n % 100) SECOND
ts - INTERVAL (i % 100) SECOND
ts + INTERVAL (y::FLOAT) SECOND
ts + INTERVAL (y) MINUTE
ts + INTERVAL (n % 100) DAY
to_timestamp(1029.170199::DOUBLE)
to_timestamp(1704067200.123456789)
to_timestamp(-1.0000005::DOUBLE)
to_timestamp(2.0000025::DOUBLE)
to_timestamp(y)
date_diff('hour', TIMESTAMP '2024-01-01', TIMESTAMP '9999-12-31 23:59:59.999999')
date_diff('second', TIMESTAMP '0001-01-01', TIMESTAMP '1969-12-31 23:59:59.999999')
date_diff('minute', TIMESTAMP '1969-12-31 23:59:59.5', TIMESTAMP '1970-01-01')
TIMESTAMP '2024-10-27 02:30:00'::TIMESTAMPTZ
TIMESTAMP '2024-11-03 01:30:00'::TIMESTAMPTZ
TIMESTAMP '2024-03-31 02:30:00'::TIMESTAMPTZ
'2024-10-27 02:30:00'::TIMESTAMPTZ
TIMESTAMPTZ '2024-11-03 01:30:00'
'2024-10-27 02:30:00+02'::TIMESTAMPTZ
TIMESTAMPTZ '2024-10-27 00:30:00Z'
TIMESTAMPTZ '2024-09-27 02:30:00' + INTERVAL 1 MONTH
TIMESTAMPTZ '2024-11-27 02:30:00' - INTERVAL 1 MONTH
TIMESTAMPTZ '2023-11-03 01:30:00' + INTERVAL 1 YEAR
TIMESTAMPTZ '2024-10-26 02:30:00' + INTERVAL 1 DAY
TIMESTAMPTZ '2024-10-28 02:30:00' - INTERVAL 1 DAY
TIMESTAMPTZ '2024-10-27 00:30:00+00' + INTERVAL 0 DAY
TIMESTAMPTZ '2024-10-27 00:30:00+00' + INTERVAL (i % 2) MONTH
tz + INTERVAL 1 MONTH
tz + INTERVAL (i % 3) MONTH
(tz - INTERVAL 1 MONTH)::TIMESTAMP
(TIMESTAMP '2024-10-27 02:30:00') AT TIME ZONE 'Europe/Paris'
(TIMESTAMP '2024-11-03 01:30:00') AT TIME ZONE 'America/New_York'
(TIMESTAMP '2024-03-31 02:30:00') AT TIME ZONE 'Europe/Paris'
(TIMESTAMP '2024-04-07 01:45:00') AT TIME ZONE 'Australia/Lord_Howe'
(TIMESTAMPTZ '2024-10-27 00:30:00+00') AT TIME ZONE 'Europe/Paris'
ts::TIMESTAMPTZ::TIMESTAMP
tz::TIMESTAMPTZ
CAST(tz AS TIMESTAMPTZ)
CAST(d AS TIMESTAMPTZ)
date_trunc('day', TIMESTAMPTZ '2024-10-27 00:30:00+00')
date_trunc('month', tz::TIMESTAMPTZ)
date_trunc('day', (TIMESTAMP '2024-11-03 12:00:00') AT TIME ZONE 'America/Havana')
strptime('03:04', '%H:%M')
strptime('5/6', '%d/%m')
d IN ('2024-01-31 10:00:00')
date_diff('week', DATE '1969-12-28', DATE '1970-01-05')
(date_trunc('month', d) + INTERVAL 1 MONTH - INTERVAL 1 DAY)::DATE
ts::TIMESTAMP AT TIME ZONE 'UTC' AT TIME ZONE 'America/New_York'
date_trunc('day', tz::TIMESTAMPTZ AT TIME ZONE 'Europe/Berlin')
date_diff('day', TIMESTAMPTZ '2024-03-30 22:30:00+00', TIMESTAMPTZ '2024-03-31 22:30:00+00')
TIMESTAMPTZ '1911-03-11 00:00:00+00'::TIMESTAMP
strftime(TIMESTAMP '1969-12-31 23:59:59.25', '%f %S')
