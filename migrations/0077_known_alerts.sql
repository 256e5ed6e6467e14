-- What kind of problem an alert was about, and how often it was there then; null: a version that does not store it has sent the alert.
alter table holdfast.alerts add column kind text, add column count integer;
