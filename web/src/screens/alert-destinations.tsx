// Where alerts are sent: the destinations with how their last attempt ended, a form that adds one,
// and a test of each.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState, type ReactElement } from 'react';
import { api } from '../api.ts';
import { destinationsQuery } from '../attention.ts';
import { Age, Chip, Time } from '../parts/bits.tsx';
import { Button } from '../parts/button.tsx';
import { ConfirmButton } from '../parts/dialog-button.tsx';
import { Field, Select } from '../parts/fields.tsx';
import { NoData } from '../parts/loading.tsx';
import { Panel } from '../parts/panel.tsx';
import { Problem } from '../parts/problem.tsx';
import { SafeText } from '../parts/safe-text.tsx';

type Destination = Awaited<ReturnType<typeof api.listAlertDestinations>>['items'][number];

const SENT = { warning: 'errors and warnings', error: 'errors' } as const;

export function AlertDestinations(): ReactElement {
  const queries = useQueryClient();
  const list = useQuery(destinationsQuery);
  const refresh = (): Promise<void> => queries.invalidateQueries({ queryKey: destinationsQuery.queryKey });
  return (
    <Panel title="Alerts">
      <p className="soft">
        What needs attention is sent to these webhooks, once when it begins and once when it ends. What you acknowledge
        or snooze is not sent.
      </p>
      <NewDestination onAdded={refresh} />
      {list.data === undefined ? (
        <NoData query={list} />
      ) : (
        list.data.items.length === 0 && <p className="soft">There is no destination yet, so no alert is sent.</p>
      )}
      <ul className="destinations">
        {list.data?.items.map((each) => (
          <DestinationRow key={each.id} destination={each} onChanged={refresh} />
        ))}
      </ul>
    </Panel>
  );
}

function DestinationRow({
  destination: { id, name, url, severity, kinds, triedAt, lastError, failingSince, restsUntil },
  onChanged,
}: {
  destination: Destination;
  onChanged: () => Promise<void>;
}): ReactElement {
  const test = useMutation({ mutationFn: () => api.testAlertDestination({ id }), onSettled: onChanged });
  return (
    <li>
      <div className="row">
        <strong>
          <SafeText text={name} />
        </strong>
        <Chip tone={failingSince === null ? (triedAt === null ? undefined : 'good') : 'bad'}>
          {failingSince === null ? (triedAt === null ? 'not used yet' : 'works') : 'fails'}
        </Chip>
        <Button disabled={test.isPending} aria-label={`Send a test to ${name}`} onClick={() => test.mutate()}>
          {test.isPending ? 'Sending…' : 'Send a test'}
        </Button>
        <ConfirmButton
          name="Remove…"
          label={`Remove… ${name}`}
          buttonTone="bad"
          title={`Remove the destination ${name}?`}
          verb="Remove the destination"
          perform={() => api.deleteAlertDestination({ id }).then(onChanged)}
        >
          <p>It receives nothing any more, also nothing that waits to be sent there now.</p>
        </ConfirmButton>
      </div>
      <p className="soft">
        Sends {SENT[severity]}
        {kinds !== null && ` of the kinds ${kinds.join(', ')}`} to <SafeText text={url} />
        {triedAt !== null && (
          <>
            , last <Age at={triedAt} />
          </>
        )}
        {failingSince !== null && (
          <>
            . Fails since <Age at={failingSince} />: <SafeText text={lastError ?? ''} />
          </>
        )}
        {restsUntil !== null && (
          <>
            . Nothing is sent before <Time at={restsUntil} />, unless a test is acknowledged
          </>
        )}
      </p>
      {test.isError && <Problem error={test.error} />}
      <p role="status">
        {test.data !== undefined &&
          (test.data.isAcknowledged ? (
            `The destination has acknowledged the test (HTTP ${test.data.status}).`
          ) : (
            <SafeText text={`The destination has not acknowledged the test: ${test.data.error}`} />
          ))}
      </p>
    </li>
  );
}

function NewDestination({ onAdded }: { onAdded: () => Promise<void> }): ReactElement {
  const [name, setName] = useState('');
  const [url, setUrl] = useState('');
  const [severity, setSeverity] = useState<keyof typeof SENT>('warning');
  const add = useMutation({
    mutationFn: () => api.createAlertDestination({ body: { name, url, severity } }),
    async onSuccess() {
      setName('');
      setUrl('');
      await onAdded();
    },
  });
  return (
    <form
      className="filters"
      onSubmit={(event) => {
        event.preventDefault();
        add.mutate();
      }}
    >
      <Field name="Name" required maxLength={64} value={name} onChange={setName} />
      <Field name="URL of the webhook" required type="url" maxLength={2000} value={url} onChange={setUrl} />
      <Select name="Sends" value={severity} options={SENT} onChange={setSeverity} />
      <Button type="submit" tone="main" disabled={add.isPending}>
        Add a destination
      </Button>
      {add.isError && <Problem error={add.error} />}
      {add.data !== undefined && (
        <p role="status">
          The secret that signs alerts to <SafeText text={add.data.name} />, which is not shown again:{' '}
          <code>{add.data.secret}</code>
        </p>
      )}
    </form>
  );
}
