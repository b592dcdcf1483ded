import { expect, test } from 'vitest'
import { failureOfCode } from '../../../../services/metadata/catalogs/glue/errors.ts'
import { work } from '../../../../services/metadata/migrations/reconcile/questions.ts'
import { workSides } from '../../../support/document-work.ts'
import { DocumentLake } from '../../../support/document-lake.ts'

const never = new AbortController().signal

test('functions that are called as something of JavaScript are brought as any other', async () => {
  using lake = new DocumentLake()
  const names = ['constructor', 'valueof', '__proto__']
  for (const side of ['source', 'target'] as const) {
    const { writer } = await lake.open(side, '/')
    await writer!.createDatabase({ name: 'sales', parameters: {} }, never)
    if (side === 'target') continue
    for (const name of names)
      await writer!.functions!.create({ database: 'sales', name, className: 'a.B', resources: [] }, never)
  }
  const sides = workSides(lake)
  const known = Object.fromEntries(names.map((name) => [name, { isNoted: true }]))
  const brought = await work({ kind: 'bring-functions', sides, database: 'sales', known })
  expect(brought).toMatchObject({ outcomes: names.map(() => ({ result: 'created' })) })
})

test.each(['constructor', '__proto__', 'toString'])('an error of Glue that is called %s is one', (name) => {
  expect(failureOfCode(name)).toBe('io')
})
