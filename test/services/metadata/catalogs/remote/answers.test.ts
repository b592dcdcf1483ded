import { expect, onTestFinished, test } from 'vitest'
import type { CatalogAnswer } from '../../../../../services/metadata/catalogs/questions.ts'
import type { AgentQuestion } from '../../../../../services/metadata/catalogs/remote/asking.ts'
import { QuestionThreads } from '../../../../../services/questions/question-threads.ts'
import { createBounds } from '../../../../../services/drivers/contract/bounds.ts'
import { littleDescription } from '../../../../support/remote-catalog-double.ts'

/** Asks a thread of the platform for databases, whose process gets these texts from an agent. */
function databasesOf(texts: { readonly describe: string; readonly databases: string }) {
  const threads = new QuestionThreads<object, CatalogAnswer>({
    entry: new URL('../../../../../services/metadata/catalogs/catalog-thread.ts', import.meta.url),
    workerData: { bounds: createBounds([], { roots: undefined, hosts: undefined }) },
    what: 'the catalog',
    relay: ({ question }: AgentQuestion) =>
      Promise.resolve(texts[question.operation as 'describe' | 'databases']),
  })
  onTestFinished(() => threads.close())
  const spec = { kind: 'hive', options: { metastoreUris: 'thrift://far:9083', agent: 'edge' } }
  const asker = { owner: 'me', signal: new AbortController().signal }
  return threads.ask({ kind: 'databases', spec, limit: 10 }, asker)
}

test('the thread that asks gets the text that an agent answered, and reads it', async () => {
  const databases = '{"value":["sales"]}'
  expect(await databasesOf({ describe: littleDescription, databases })).toEqual({ names: ['sales'] })
})

test('the thread makes a failure of the catalog one of its own', async () => {
  const databases = '{"error":{"message":"asked too often","failure":"throttled","retryAfterMs":7}}'
  await expect(databasesOf({ describe: littleDescription, databases })).rejects.toMatchObject({
    message: 'asked too often',
    failure: 'throttled',
    retryAfterMs: 7,
  })
})

test.each([
  ['another shape', '{"value":[1]}'],
  ['no JSON', '{'],
  ['a million lists in one another', `{"value":${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}}`],
  ['more values than any store has', `{"value":[${'0,'.repeat(17_000_000)}0]}`],
])('the thread refuses an answer with %s by name', async (_, databases) => {
  await expect(databasesOf({ describe: littleDescription, databases })).rejects.toMatchObject({
    failure: 'io',
    message: expect.stringContaining('agent edge answers databases with something else'),
  })
})
