insert into articles(created_at, published_at, attributes)
  select (d->>'created_at')::timestamptz, (d->>'published_at')::timestamptz, d - 'created_at' - 'published_at'
  from staging order by n;
drop table staging;
vacuum (analyze, freeze) articles;
alter table articles add primary key (id);
