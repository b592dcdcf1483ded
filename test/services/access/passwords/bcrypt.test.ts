import { hash } from 'bcryptjs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { expect, test } from 'vitest'
import { Bcrypt } from '../../../../services/access/passwords/bcrypt.ts'

test('passwords are compared, all of each', async () => {
  const bcrypt = new Bcrypt()
  const exact = 'x'.repeat(72)
  const stored = await hash(exact, 4)
  expect(await bcrypt.compare(exact, stored)).toBe(true)
  expect(await bcrypt.compare(`${exact}y`, stored)).toBe(false)
  expect(await bcrypt.compare('x', stored)).toBe(false)
  for (const form of ['$2a$', '$2y$']) {
    expect(await bcrypt.compare(exact, stored.replace('$2b$', form))).toBe(true)
  }
  bcrypt.close()
})

test('the main thread goes on meanwhile', async () => {
  const bcrypt = new Bcrypt()
  const stored = await hash('password', 4)
  await bcrypt.compare('password', stored)
  const delay = monitorEventLoopDelay({ resolution: 5 })
  delay.enable()
  // Half a second and more of another thread.
  const slow = stored.replace('$04$', '$13$')
  expect(await bcrypt.compare('password', slow)).toBe(false)
  delay.disable()
  // In steps of 100 ms, as the library does it by itself, the mean would be near that.
  expect(delay.mean / 1e6).toBeLessThan(50)
  bcrypt.close()
})

test('many at once are refused, and a thread that ends fails what waits and is replaced', async () => {
  const bcrypt = new Bcrypt()
  const stored = await hash('password', 4)
  const slow = stored.replace('$04$', '$15$')
  const waiting = Array.from({ length: 65 }, () => bcrypt.compare('x', slow))
  const settled = Promise.allSettled(waiting)
  await expect(waiting[64]).rejects.toMatchObject({ code: 'OVERLOADED' })
  bcrypt.close()
  const codes = (await settled).map((each) => (each as { reason?: { code?: string } }).reason?.code)
  expect(codes.slice(0, 64)).toEqual(Array.from({ length: 64 }, () => 'INTERNAL'))
  expect(await bcrypt.compare('password', stored)).toBe(true)
  bcrypt.close()
})
