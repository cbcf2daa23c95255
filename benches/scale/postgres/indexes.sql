create index on articles (created_at, id) include (published_at);
create index on articles (published_at, id);
create index on articles (price, id);
create index on articles (status, price, id);
create index on articles (category, published_at);
create index on articles (title collate "und-x-icu", id) include (published_at);
create unique index on articles ((attributes->>'slug'));
create index on articles using gin (title gin_trgm_ops);
create index on articles using gin ((attributes->>'summary') gin_trgm_ops);
