create index on articles using gin ((attributes->>'body') gin_trgm_ops);
