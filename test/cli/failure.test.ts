import { expect, test } from 'vitest'
import { report, withFlags } from '../../cli/failure.ts'
import { shapeOf } from '../../cli/output/shape.ts'
import { answerError } from '../../services/drivers/s3a/errors.ts'
import { storeFailure } from '../../services/filesystems/store.ts'
import { resources } from '../../subjects/index.ts'
import { testTerminal } from './support.ts'

test('an error of credentials names the flags of the command; for programs it stays as it came', () => {
  const answer = {
    status: 403,
    code: 'InvalidAccessKeyId',
    region: undefined,
    headers: {},
    body: Buffer.alloc(0),
    isReceived: false,
  }
  const refused = storeFailure(answerError('listing of bucket data', answer), 'lake')
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
