-- What an applied migration demands of older code: null lets every older version work with it, because the migration only adds; otherwise the name of
-- the migration that a version must know.
alter table holdfast.migrations add column if not exists needs text;
