import { expect, test } from 'vitest'
import { report, withFlags } from '../../cli/failure.ts'
import { shapeOf } from '../../cli/output/shape.ts'
import { answerError } from '../../services/drivers/s3a/errors.ts'
import { storeFailure } from '../../services/filesystems/store.ts'
import { resources } from '../../subjects/index.ts'
import { GantryError } from '../../subjects/kit/errors.ts'
import { testTerminal } from './support.ts'

test('a path without its slash is told with it, and a wrong one is not', () => {
  const shape = shapeOf(resources.migrations.create)
  const field = shape.flags.find(({ name }) => name === 'path')!
  const text = (given: string) => {
    const terminal = testTerminal()
    const refused = new GantryError('INVALID_INPUT', 'input', {
      details: [{ field: 'path', problem: 'must be an absolute path' }],
    })
    report(terminal, withFlags(refused, shape, new Map([[field, given]])), { json: false })
    return terminal.written.err
  }
  expect(text('docs/a')).toContain('--path must be an absolute path (did you mean /docs/a?)')
  for (const given of ['../a', '/a//b']) expect(text(given)).not.toContain('did you mean')
})

test('an error of credentials names the flags of the command; for programs it stays as it came', () => {
  const answer = {
    status: 403,
    code: 'InvalidAccessKeyId',
    region: undefined,
    headers: {},
    body: Buffer.alloc(0),
    isReceived: false,
  }
  const refused = storeFailure(answerError('listing of bucket data', answer), 'lake', 'source')
  const error = withFlags(refused, shapeOf(resources.filesystems['create-s3a']))
  const terminal = testTerminal()
  report(terminal, error, { json: false })
  expect(terminal.written.err).toContain('check --access-key, --secret-key, --session-token, the region')
  terminal.written.err = ''
  report(terminal, error, { json: true })
  expect(JSON.parse(terminal.written.err)).toMatchObject({
    code: 'STORE_REFUSED',
    message: expect.stringContaining('check accessKey, secretKey') as string,
  })
})
