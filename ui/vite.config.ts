import { join } from 'node:path'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import { uiPath } from '../subjects/kit/names.ts'
import { sourceFolder } from './build/folders.ts'

/** Loaded with every page. */
const main = join(sourceFolder, 'main.tsx')
/** The page that is loaded first. */
const home = join(sourceFolder, 'pages/home/home.tsx')

/** Whether a module is a part of one of ours: that itself, and what it imports. */
function isPartOf(
  whole: string,
  id: string,
  infoOf: (id: string) => { readonly importers: readonly string[] } | null,
  seen = new Set<string>(),
): boolean {
  // An index of a library names all that it has, whoever wants it.
  if (seen.has(id) || id.includes('/node_modules/')) return false
  seen.add(id)
  return (
    id === whole || (infoOf(id)?.importers.some((other) => isPartOf(whole, other, infoOf, seen)) ?? false)
  )
}

export default defineConfig({
  root: sourceFolder,
  base: `${uiPath}/`,
  plugins: [react()],
  build: {
    modulePreload: { polyfill: false },
    rolldownOptions: {
      output: {
        // Of small files the browser would have to ask for dozens.
        codeSplitting: {
          groups: [
            {
              name: 'libraries',
              test: /\/node_modules\/(?:react|react-dom|scheduler|@tanstack|@nats-io|typebox)\//,
              priority: 5,
            },
            {
              name: (id, context) =>
                isPartOf(main, id, (other) => context.getModuleInfo(other)) ? 'first' : null,
              priority: 4,
            },
            // What pages share, by which of them need it: a file for each component would be as many requests.
            {
              name: (id, context) =>
                id.includes('/subjects/') && isPartOf(home, id, (other) => context.getModuleInfo(other))
                  ? 'contracts'
                  : null,
              priority: 3,
            },
            {
              name: 'more-contracts',
              test: /\/subjects\/(?:extensions|migrations|observability|rules)\//,
              priority: 2,
            },
            {
              name: 'shown',
              test: /\/ui\/kit\/(?:chart|empty|error-boundary|extension-content|facts|health|later|metric-chart|migration-link|named|status|table|tabs)\.|\/subjects\/kit\//,
              priority: 2,
            },
            { name: 'forms', test: /\/ui\/kit\/(?!markdown)/, minShareCount: 2, priority: 1 },
          ],
        },
      },
    },
    chunkSizeWarningLimit: 1_500,
  },
  // `npm run ui:dev`, beside a platform that runs.
  server: { proxy: { '^/(api|login|logout)': 'http://127.0.0.1:8080' } },
})
