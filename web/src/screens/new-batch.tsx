// A new batch from a file: chosen or dropped, checked and priced without being stored, then
// submitted.
import { useState, type DragEvent, type ReactElement } from 'react';
import { api } from '../api.ts';
import { columnUsdText, countText } from '../format/amounts.ts';
import { Chip } from '../parts/bits.tsx';
import { Button } from '../parts/button.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Field, Select } from '../parts/fields.tsx';
import { PlainTable } from '../parts/panel.tsx';
import { Problem } from '../parts/problem.tsx';
import { SafeText } from '../parts/safe-text.tsx';

/** The default of `limits.batchBytes`: a larger file is refused here, before it is sent. */
const BYTES_MAX = 256 * 1024 * 1024;
const UPLOAD_MS = 10 * 60_000;

type Query = NonNullable<Parameters<typeof api.postBatches>[0]>;
type Estimate = Extract<Awaited<ReturnType<typeof api.postBatches>>, { recommended: unknown }>;

const VIAS = ['auto', 'live', 'provider-batch'] as const;

interface Settings {
  name: string;
  via: (typeof VIAS)[number];
  agentId: string;
  pilot: string;
  maxCostUsd: string;
  concurrency: string;
}

const UNSET: Settings = { name: '', via: 'auto', agentId: '', pilot: '', maxCostUsd: '', concurrency: '' };

interface NewBatchProps {
  onClose: () => void;
  onSubmitted: (id: string) => void;
}

export function NewBatch({ onClose, onSubmitted }: NewBatchProps): ReactElement {
  const { file, settings, estimate, busy, error, choose, change, submit } = useSubmission(onSubmitted);
  return (
    <Dialog onClose={onClose} aria-labelledby="new-batch-title">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        <h2 id="new-batch-title">New batch</h2>
        <FileField file={file} onChoose={choose} />
        {estimate !== null && <EstimateTable estimate={estimate} />}
        <SettingFields settings={settings} change={change} />
        {error !== null && <Problem error={error} />}
        <div className="row">
          <Button type="submit" tone="main" disabled={file === null || estimate === null || busy !== null}>
            {busy ?? (estimate === null ? 'Submit' : `Submit ${countText(estimate.items)} items`)}
          </Button>
          <Button onClick={onClose}>Close</Button>
        </div>
      </form>
    </Dialog>
  );
}

/** The file and the settings of a new batch, and the service's estimate. */
function useSubmission(onSubmitted: (id: string) => void) {
  const [file, setFile] = useState<File | null>(null);
  const [settings, setSettings] = useState(UNSET);
  const [estimate, setEstimate] = useState<Estimate | null>(null);
  const [busy, setBusy] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);
  // The same for each attempt with this file and these settings: a submission that is repeated
  // makes one batch.
  const [submission, setSubmission] = useState(() => crypto.randomUUID());

  async function attempt(what: string, act: () => Promise<void>): Promise<void> {
    setBusy(what);
    setError(null);
    try {
      await act();
    } catch (cause) {
      setError(cause);
    } finally {
      setBusy(null);
    }
  }

  function choose(chosen: File | undefined): void {
    setEstimate(null);
    setError(null);
    setFile(null);
    setSubmission(crypto.randomUUID());
    if (chosen === undefined) return;
    if (chosen.size > BYTES_MAX)
      return setError(new Error(`${chosen.name} has ${megabytes(chosen)} MB; a file may have 256 MB. Split it.`));
    setFile(chosen);
    setSettings((before) => ({ ...before, name: before.name === '' ? nameOf(chosen) : before.name }));
    void attempt('Checking…', async () => {
      const answer = await send(chosen, { ...settings, name: '' }, { dryRun: true });
      if ('recommended' in answer) setEstimate(answer);
    });
  }

  function change(part: Partial<Settings>): void {
    setSettings((before) => ({ ...before, ...part }));
    setSubmission(crypto.randomUUID());
  }

  function submit(): void {
    if (file === null) return;
    void attempt('Submitting…', async () => {
      const answer = await send(file, settings, { idempotencyKey: submission });
      if ('id' in answer) onSubmitted(answer.id);
    });
  }

  return { file, settings, estimate, busy, error, choose, change, submit };
}

function send(
  file: File,
  { name, via, ...others }: Settings,
  { dryRun, idempotencyKey }: { dryRun?: boolean; idempotencyKey?: string },
): ReturnType<typeof api.postBatches> {
  const given = Object.fromEntries(Object.entries({ name, ...others }).filter(([, text]) => text.trim() !== ''));
  const query: Query = { ...given, via, ...(dryRun === undefined ? {} : { dryRun }), body: file };
  const headers = {
    'content-type': 'application/x-ndjson',
    ...(file.name.endsWith('.gz') ? { 'content-encoding': 'gzip' } : {}),
  };
  return api.postBatches(query, { timeoutMs: UPLOAD_MS, headers, idempotencyKey });
}

const megabytes = ({ size }: File): string => (size / 1024 / 1024).toFixed(size < 10 * 1024 * 1024 ? 1 : 0);

/** The name of a file without everything after the first dot. */
const nameOf = ({ name }: File): string => name.replace(/\..*$/, '').slice(0, 100);

function FileField({
  file,
  onChoose,
}: {
  file: File | null;
  onChoose: (file: File | undefined) => void;
}): ReactElement {
  const [isOver, setOver] = useState(false);
  const onDrag = (event: DragEvent, over: boolean): void => {
    event.preventDefault();
    setOver(over);
  };
  return (
    <label
      className="drop"
      data-over={isOver}
      onDragOver={(event) => onDrag(event, true)}
      onDragLeave={(event) => onDrag(event, false)}
      onDrop={(event) => {
        onDrag(event, false);
        onChoose(event.dataTransfer.files[0]);
      }}
    >
      <span>
        {file === null ? (
          'Drop a file here or choose one: a JSON object with "text" per line, also compressed with gzip.'
        ) : (
          <>
            <SafeText text={file.name} />, {megabytes(file)} MB
          </>
        )}
      </span>
      <input type="file" aria-label="File" onChange={(event) => onChoose(event.target.files?.[0])} />
    </label>
  );
}

function EstimateTable({ estimate }: { estimate: Estimate }): ReactElement {
  const { costUsd, recommended, tokens } = estimate;
  const { at100, at90, at50 } = costUsd.providerBatch;
  const ways = [
    { name: 'Live', way: 'live', usd: costUsd.live },
    { name: 'Batches of the provider, all of the prompt from its cache', way: 'provider-batch', usd: at100 },
    { name: 'the same, 90 % from the cache', way: null, usd: at90 },
    { name: 'the same, 50 % from the cache', way: null, usd: at50 },
  ];
  return (
    <PlainTable
      caption={`Estimate: ${countText(estimate.items)} items, ${countText(tokens.input)} tokens in, ${countText(tokens.output)} out`}
      columns={[
        {
          title: 'Way',
          cell: ({ name, way }) => (
            <>
              {name} {way === recommended && <Chip>recommended</Chip>}
            </>
          ),
        },
        { title: 'Price', isNumber: true, cell: ({ usd }) => columnUsdText(usd) },
      ]}
      rows={ways}
      idOf={({ name }) => name}
    />
  );
}

function SettingFields(props: { settings: Settings; change: (part: Partial<Settings>) => void }): ReactElement {
  const { settings, change } = props;
  const number = (name: 'pilot' | 'maxCostUsd' | 'concurrency', title: string, step?: 'any'): ReactElement => (
    <Field
      name={title}
      type="number"
      min="0"
      step={step}
      value={settings[name]}
      onChange={(text) => change({ [name]: text })}
    />
  );
  return (
    <>
      <Field name="Name" value={settings.name} maxLength={200} onChange={(name) => change({ name })} />
      <Select name="Way" value={settings.via} options={VIAS} onChange={(via) => change({ via })} />
      <Field name="Agent (empty: main)" value={settings.agentId} onChange={(agentId) => change({ agentId })} />
      {number('pilot', 'Pilot: so many items first')}
      {number('maxCostUsd', 'Cost cap in US dollars', 'any')}
      {number('concurrency', 'Items in flight at most')}
    </>
  );
}
