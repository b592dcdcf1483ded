import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import { uiPath } from '../subjects/kit/names.ts'
import { sourceFolder } from './build/folders.ts'

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
            },
          ],
        },
      },
    },
    chunkSizeWarningLimit: 1_500,
  },
  // `npm run ui:dev`, beside a platform that runs.
  server: { proxy: { '^/(api|login|logout)': 'http://127.0.0.1:8080' } },
})
