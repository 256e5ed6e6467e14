// What people think of a turn: their scores, and the buttons of the person who reads it.
import { useQueryClient } from '@tanstack/react-query';
import { useState, type ReactElement } from 'react';
import { api, type Turn } from '../api.ts';
import { useCanAct } from '../me.ts';
import { Age, Chip } from '../parts/bits.tsx';
import { Button } from '../parts/button.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { DialogButton } from '../parts/dialog-button.tsx';
import { Field, LongField } from '../parts/fields.tsx';
import { SafeText } from '../parts/safe-text.tsx';

type Score = NonNullable<Turn['scores']>[number];

/** Reactions in chats are scores of this name, too. */
const THUMB = 'thumb';

export function Scores({ turn }: { turn: Turn }): ReactElement | null {
  const canAct = useCanAct();
  const { scores = [], endedAt, id } = turn;
  const canScore = canAct && endedAt !== null;
  if (scores.length === 0 && !canScore) return null;
  return (
    <section className="row scores" aria-label="Scores">
      {scores.map((score) => (
        <ScoreChip key={score.id} score={score} />
      ))}
      {canScore && <Thumbs id={id} />}
      {canScore && (
        <DialogButton dialog={(close) => <NoteDialog id={id} onClose={close} />}>
          {scores.length === 0 ? 'Add a note…' : 'Note…'}
        </DialogButton>
      )}
    </section>
  );
}

function ScoreChip({ score: { score, value, note, by, createdAt } }: { score: Score }): ReactElement {
  const isGood =
    typeof value === 'number' ? (value === 0 ? null : value > 0) : typeof value === 'boolean' ? value : null;
  return (
    <span className="score">
      <Chip tone={isGood === null ? undefined : isGood ? 'good' : 'bad'}>
        <SafeText text={scoreText(score, value)} />
      </Chip>{' '}
      {note !== null && <SafeText text={note} />}{' '}
      <span className="soft">
        <SafeText text={by ?? 'another key'} />, <Age at={createdAt} />
      </span>
    </span>
  );
}

function scoreText(name: string, value: Score['value']): string {
  if (typeof value !== 'boolean') return `${name}: ${value}`;
  const thumb = value ? '👍' : '👎';
  return name === THUMB ? `${thumb} ${value ? 'good' : 'bad'}` : `${thumb} ${name}`;
}

function Thumbs({ id }: { id: string }): ReactElement {
  const give = useGive(id);
  return (
    <>
      <Button aria-label="Good answer" onClick={() => void give({ score: THUMB, value: true })}>
        👍
      </Button>
      <Button aria-label="Bad answer" onClick={() => void give({ score: THUMB, value: false })}>
        👎
      </Button>
    </>
  );
}

function NoteDialog({ id, onClose }: { id: string; onClose: () => void }): ReactElement {
  const give = useGive(id);
  const [name, setName] = useState('');
  const [note, setNote] = useState('');
  const [value, setValue] = useState(false);
  return (
    <Confirm
      title="What do you think of this turn?"
      verb="Keep it"
      tone="main"
      onClose={onClose}
      perform={() => give({ score: name.trim() || THUMB, value, ...(note.trim() && { note: note.trim() }) })}
    >
      <p>It replaces what you said of this turn under the same name before. Agents do not read it.</p>
      <div className="row" role="radiogroup" aria-label="Value">
        {[true, false].map((one) => (
          <label key={String(one)}>
            <input type="radio" name="value" checked={value === one} onChange={() => setValue(one)} />{' '}
            {scoreText(THUMB, one)}
          </label>
        ))}
      </div>
      <Field name="Score" value={name} maxLength={100} placeholder={THUMB} onChange={setName} />
      <LongField name="Note" value={note} maxLength={10_000} rows={4} onChange={setNote} />
    </Confirm>
  );
}

/** Gives the score of the person who has signed in. */
function useGive(id: string): (score: Parameters<typeof api.setScore>[0]['body']) => Promise<void> {
  const queries = useQueryClient();
  return async (body) => {
    await api.setScore({ id, body });
    await queries.invalidateQueries({ queryKey: ['turn', id] });
  };
}
