import { expect, test } from 'vitest'
import type { ToldPath } from '../../../../services/engine/walk/plan.ts'
import { Planned } from '../../../../services/migrations/removals/plan-walk.ts'

test('a new folder that cannot be listed is among the samples once', () => {
  const planned = new Planned()
  const tell = (...lines: ToldPath[]) =>
    planned.add({}, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  tell(
    { action: 'COPY', path: '/locked', of: 'folder' },
    { action: 'COPY', path: '/open', of: 'folder' },
    { action: 'COPY', path: '/file', of: 'file' },
  )
  tell({ action: 'UNREADABLE', path: '/locked', of: 'file', reason: 'source: permission denied' })
  expect(planned.samples.map(({ action, path }) => `${action} ${path}`)).toEqual([
    'COPY /file',
    'COPY /open',
    'UNREADABLE /locked',
  ])
})
