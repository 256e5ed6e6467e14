-- How many deliveries to its destination the success of a delivery makes due: a person has asked to send it now. 0: none.
alter table holdfast.deliveries add column wakes smallint not null default 0;
