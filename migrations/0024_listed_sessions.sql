-- Lists of sessions leave those of batches out, of which there may be very many. The kind of a session never changes.
create index sessions_listed on holdfast.sessions (id desc) where kind <> 'batch';
