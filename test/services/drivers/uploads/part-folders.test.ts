import { expect, test } from 'vitest'
import { isLeftBehind, uploadFolder } from '../../../../services/drivers/uploads/part-folders.ts'

const file = { sizeBytes: 100, tag: 'migration', attributes: {} }
const path = Buffer.from('folder/file')
const minuteMs = 60_000
const always = () => true

/** Whether an upload to which nobody wrote for so long is taken for one that was left. */
const isLeft = (name: Buffer, ageMs: number, isOver: Parameters<typeof isLeftBehind>[2] = always) =>
  isLeftBehind(name, [], isOver, () => ageMs)

test('an upload of one process on whatever host is not taken from it while it is written', () => {
  const name = uploadFolder(path, file, 10, { version: '1' })
  expect(isLeft(name, minuteMs)).toBe(false)
  expect(isLeft(name, 11 * minuteMs)).toBe(true)
  expect(isLeft(name, 11 * minuteMs, ({ generation }) => generation !== undefined)).toBe(false)
})

test('an upload of several processes is over with its generation', () => {
  const name = uploadFolder(path, file, 10, { version: '1', shared: { generation: 2 } })
  expect(isLeft(name, 0, ({ generation }) => generation !== 3)).toBe(true)
  expect(isLeft(name, 0, ({ generation }) => generation !== 2)).toBe(false)
  expect(isLeft(name, 0, (upload) => upload.isOf(path))).toBe(true)
  expect(isLeft(name, 0, (upload) => upload.isOf(Buffer.from('folder/other')))).toBe(false)
})
