-- Indexes memory in Korean again, with the words without their particles: a search finds what is not indexed and adds it.
delete from holdfast.memory_files f
where exists (
  select from holdfast.memory_chunks c
  where c.agent_id = f.agent_id and c.path = f.path and c.sha256 = f.sha256 and c.text ~ '[가-힣]'
);
