-- watch
-- Purpose: Read which of the held sessions are asked to stop, and why, and which models are blocked.
-- Locking: None.
prepare "watch" as
/* watch */
select (
    select json_agg(json_build_object('id', s.id, 'stop', case when s.stop_reason is not null
    then json_build_object('kind', coalesce(s.stop_kind, 'stopped'), 'message', s.stop_reason) end))
    from holdfast.sessions s where s.id = any ($1::uuid[]) and s.stop_reason is not null
  ) as stops, (select json_agg(json_build_object('account', b.account, 'model', b.model, 'isLifted', b.lifted_at is not null,
    'leftMs', extract(epoch from b.until - clock_timestamp()) * 1000,
    'probeInMs', greatest(extract(epoch from b.probe_at - clock_timestamp()) * 1000, case when b.probe_at is not null then 0 end),
    'traits', case when b.traits_until > now() then b.traits end))
  from (
    select * from holdfast.model_blocks where until > now()
    union all
    select * from holdfast.model_blocks where traits_until > now() and until <= now()
  ) b) as blocks
;
