import { afterAll, beforeAll } from 'vitest'
import { checkFollower, followerTimeoutMs } from '../support/follower.ts'
import { startTestPlatform, type TestPlatform } from '../support/platform.ts'
import { whyMissing } from '../support/provide.ts'
import { testUnless } from '../support/unless.ts'

let platform: TestPlatform
beforeAll(async () => {
  platform = await startTestPlatform()
})
afterAll(() => platform[Symbol.asyncDispose]())

testUnless(
  whyMissing('GO_FOLLOWER'),
  'sdk/go/example, with the module for Go',
  () => checkFollower(platform, { program: process.env['GO_FOLLOWER']!, args: [] }),
  followerTimeoutMs,
)
