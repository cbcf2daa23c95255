-- The articles with typed columns, as an application would keep them.
create extension if not exists pg_trgm;
create table articles (
  id bigint generated always as identity,
  created_at timestamptz not null default now(),
  published_at timestamptz,
  title text generated always as (attributes->>'title') stored,
  status text generated always as (attributes->>'status') stored,
  category text generated always as (attributes->>'category') stored,
  price numeric generated always as ((attributes->>'price')::numeric) stored,
  attributes jsonb not null
);
create unlogged table staging (n bigint generated always as identity, d jsonb);
