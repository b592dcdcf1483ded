import { expect, test } from 'vitest'
import { keys } from '../../../../subjects/access/keys.ts'
import { createKey, everything, issueInside } from '../../../support/keys.ts'
import { startTestPlatform } from '../../../support/platform.ts'
import { gantry } from '../../../cli/support.ts'

test('an administrator lists all keys, or its own', async () => {
  await using platform = await startTestPlatform()
  const { id: own } = await createKey(platform, everything)
  const {
    key: { id: other },
  } = await issueInside(platform, { owner: 'ada' })
  const all = (await platform.call(keys.list, {})).map(({ id }) => id)
  expect(all).toEqual(expect.arrayContaining([own, other]))
  const mine = all.filter((id) => id !== other)
  expect((await platform.call(keys.list, { own: true })).map(({ id }) => id)).toEqual(mine)
  const rest = await platform.rest('platform', 'GET', '/api/v1/keys?own=true&limit=1')
  expect(rest.body).toMatchObject([{ id: mine[0] }])
  const typed = await gantry(['keys', 'list', '--own', '-o', 'name'], { env: { GANTRY_HOME: platform.home } })
  expect(typed.out.trim().split('\n')).toEqual(mine)
})
