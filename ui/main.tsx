import '@mantine/core/styles.css'
import './app/app.css'
import { MantineProvider } from '@mantine/core'
import { MutationCache, QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { Failure } from './kit/failure.tsx'
import { router } from './app/router.tsx'
import { SessionContext } from './data/session-context.ts'
import { theme, variables } from './app/theme.ts'
import { clearFailures, reportOutcome } from './data/outcomes.ts'
import { rememberPlace, returnToPlace } from './data/return-place.ts'
import { openSession } from './data/session.ts'
import { isGantryError } from '../subjects/kit/errors.ts'

/** What several parts of a page want to know is asked once. */
const askedOnceMs = 1_000

const root = createRoot(document.getElementById('root')!)
const queries = new QueryClient({
  mutationCache: new MutationCache({
    onSuccess: clearFailures,
    onError: (error, _input, _context, { meta }) => {
      if (meta?.['isShown'] !== true) reportOutcome('The request failed', error)
    },
  }),
  defaultOptions: {
    // A page that is opened asks again, and shows what is known meanwhile: nobody may have heard the events of before. The
    // broker's client comes back by itself, and with it what was asked.
    queries: { staleTime: askedOnceMs, retry: false, refetchOnWindowFocus: false },
  },
})

returnToPlace()
// What the page is made of comes while the session is opened.
void router.load()

try {
  const session = await openSession()
  root.render(
    <StrictMode>
      <MantineProvider theme={theme} cssVariablesResolver={variables} defaultColorScheme="auto">
        <SessionContext value={session}>
          <QueryClientProvider client={queries}>
            <RouterProvider router={router} />
          </QueryClientProvider>
        </SessionContext>
      </MantineProvider>
    </StrictMode>,
  )
} catch (error) {
  if (isGantryError(error, 'UNAUTHENTICATED')) {
    rememberPlace()
    // The first page of the platform has the way to sign in.
    location.replace('/')
  } else
    root.render(
      <MantineProvider theme={theme} cssVariablesResolver={variables} defaultColorScheme="auto">
        <Failure title="The platform cannot be reached" error={error} />
      </MantineProvider>,
    )
}
