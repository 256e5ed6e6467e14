// Signing in with an API key. The key is sent once, in the body of a request, and kept nowhere in
// the page.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, useRouter } from '@tanstack/react-router';
import { useEffect, useState, type ReactElement } from 'react';
import { api } from '../api.ts';
import { pageTitle } from '../format/title.ts';
import { readyQuery } from '../live/outage.ts';
import { noticeSignIn, onSignInElsewhere } from '../live/sign-in-notice.ts';
import { Environment } from '../parts/environment.tsx';
import { Away, awayParts } from '../parts/away.tsx';
import { Button } from '../parts/button.tsx';
import { Field } from '../parts/fields.tsx';
import { Problem } from '../parts/problem.tsx';

/** How often the page looks whether the service works. */
const POLL_MS = 4_000;

const route = getRouteApi('/sign-in');

/** A path of this page; nothing that leads elsewhere. */
function pathOf(to: string | undefined): string {
  return to !== undefined && to.startsWith('/') && !to.startsWith('//') ? to : '/';
}

export function SignIn(): ReactElement {
  const { to } = route.useSearch();
  const router = useRouter();
  const queries = useQueryClient();
  const [key, setKey] = useState('');
  function proceed(): void {
    queries.clear();
    router.history.push(pathOf(to));
  }

  // Where a key has been begun, its owner decides.
  const isEmpty = key === '';
  useEffect(() => (isEmpty ? onSignInElsewhere(proceed) : undefined));

  const signIn = useMutation({
    mutationFn: () => api.signIn({ body: { key: key.trim() } }),
    onSuccess() {
      noticeSignIn();
      proceed();
    },
  });

  return (
    <main className="sign-in">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          signIn.mutate();
        }}
      >
        <Installation />
        <Field
          name="API key"
          type="password"
          autoComplete="current-password"
          required
          autoFocus
          value={key}
          onChange={setKey}
        />
        {signIn.isError && <Problem error={signIn.error} />}
        <Button type="submit" tone="main" disabled={signIn.isPending}>
          {signIn.isPending ? 'Signing in…' : 'Sign in'}
        </Button>
        <p className="soft">
          Without a key: run <code>npx holdfast open</code> on the machine of the service, which signs this browser in.
          A new service writes its first key into the file <code>api-key</code> of its data directory.
        </p>
      </form>
    </main>
  );
}

/** What the person is about to sign in to. */
function Installation(): ReactElement {
  // The one route that says so without a key.
  const { data, error } = useQuery({ ...readyQuery, refetchInterval: POLL_MS });
  const environment = data?.environment;
  useEffect(() => {
    document.title = pageTitle('Sign in', environment);
  }, [environment]);
  return (
    <>
      <h1>
        Holdfast <Environment name={environment} />
      </h1>
      <p className="soft">
        {location.host}
        {data !== undefined && `, version ${data.version}`}
      </p>
      {(error !== null || awayParts(data, null).length > 0) && (
        <p className="banner" data-tone="bad" role="status">
          <Away ready={data} error={error} />
        </p>
      )}
    </>
  );
}
