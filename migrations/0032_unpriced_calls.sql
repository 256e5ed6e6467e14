-- Calls whose cost is not known are counted by model, beside the rows that ended. The hours have those that were rolled up before.
insert into holdfast.row_counts (subject, status, count)
select 'unpriced calls', model, sum(unpriced_calls) from holdfast.usage_buckets where size = 'hour' and unpriced_calls > 0 group by model;
