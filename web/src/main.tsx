// The page: signs in with the code of its address if there is one, then shows the screen of its
// path.
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { api, HoldfastError, isSignedOut } from './api.ts';
import { noticeSignIn } from './live/sign-in-notice.ts';
import { createAppRouter } from './router.tsx';
import { SettingsProvider } from './settings.tsx';
import './styles/tokens.css';
import './styles/parts.css';
import './styles/shell.css';
import './styles/lists.css';
import './styles/screens.css';
import './styles/turn.css';
import './styles/words.css';
import './styles/overview.css';
import './styles/setup.css';
import './styles/conversation.css';

const RETRY_MS_MAX = 30_000;
const CODE = /^#code=([\w-]+)$/;

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      // A refusal is permanent; an API or a database that is down recovers.
      retry: (count, error) =>
        !(error instanceof HoldfastError) || error.status === null || error.status >= 500 ? count < 60 : false,
      retryDelay: (count) => Math.min(1_000 * 2 ** count, RETRY_MS_MAX),
      refetchOnWindowFocus: false,
      staleTime: 5_000,
    },
  },
});

/** Signs in with the code after the `#` of the address, which is removed first. */
async function signInByAddress(): Promise<void> {
  const code = CODE.exec(location.hash)?.[1];
  if (code === undefined) return;
  history.replaceState(null, '', location.pathname + location.search);
  try {
    await api.signIn({ body: { code } });
    noticeSignIn();
  } catch (error) {
    // The screen for signing in says what to do.
    if (!isSignedOut(error)) throw error;
  }
}

// A code that is opened in a page that is already here changes nothing but the part after the `#`.
addEventListener('hashchange', () => {
  if (CODE.test(location.hash)) location.reload();
});

const root = createRoot(document.getElementById('app')!);
// What goes wrong here goes wrong again on the first screen, which shows it.
await signInByAddress().catch(() => undefined);
root.render(
  <StrictMode>
    <SettingsProvider>
      <QueryClientProvider client={queries}>
        <RouterProvider router={createAppRouter(queries)} />
      </QueryClientProvider>
    </SettingsProvider>
  </StrictMode>,
);
