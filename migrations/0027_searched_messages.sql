-- Messages are found by the id that their platform gave them, which is the last element of `platform_key`. A key with other characters in that
-- place, for example an escaped quotation mark, is not found by it. Messages without such an id are not in the index.
create index inbox_by_platform_id on holdfast.inbox (substring(platform_key from '"([^"]*)"\]$')) where platform_key is not null;
