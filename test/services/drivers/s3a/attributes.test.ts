import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { attributesOf, metadataOf } from '../../../../services/drivers/s3a/attributes.ts'

test('times, modes and owners come back', () => {
  const anyAttributes = fc.record({
    modifiedMs: fc.double({ min: -1e14, max: 1e14, noNaN: true }),
    mode: fc.integer({ min: 0, max: 0o7777 }),
    owner: fc.record({ uid: fc.nat(2 ** 32 - 1), gid: fc.nat(2 ** 32 - 1) }),
  })
  fc.assert(
    fc.property(anyAttributes, (attributes) => {
      const { modifiedMs = NaN, ...rest } = attributesOf(metadataOf(attributes))
      expect(rest).toEqual({ mode: attributes.mode, owner: attributes.owner })
      expect(Math.abs(modifiedMs - attributes.modifiedMs)).toBeLessThanOrEqual(0.001)
    }),
  )
})

test.each([
  ['rclone', { mtime: '1700000000.123456789' }, { modifiedMs: 1_700_000_000_123.4568 }],
  ['rclone, a whole second', { mtime: '1700000000' }, { modifiedMs: 1_700_000_000_000 }],
  [
    'a file system of Amazon',
    {
      'file-mtime': '1595002920123000000ns',
      'file-permissions': '0100664',
      'file-owner': '500',
      'file-group': '501',
    },
    { modifiedMs: 1_595_002_920_123, mode: 0o664, owner: { uid: 500, gid: 501 } },
  ],
  [
    'DataSync',
    { 'file-mtime': '1528394400123ms', 'file-permissions': '0644' },
    { modifiedMs: 1_528_394_400_123, mode: 0o644 },
  ],
  ['something else', { mtime: 'yesterday', 'file-permissions': 'rw-r--r--', 'file-owner': 'root' }, {}],
])('what %s writes is read', (_tool, metadata, wanted) => {
  const headers = Object.fromEntries(
    Object.entries(metadata).map(([name, value]) => [`x-amz-meta-${name}`, value]),
  )
  expect(attributesOf(headers)).toEqual(wanted)
})

test('without metadata the time is that of the last upload', () => {
  expect(attributesOf({ 'last-modified': 'Fri, 02 Jan 2026 03:04:05 GMT' })).toEqual({
    modifiedMs: Date.parse('2026-01-02T03:04:05Z'),
  })
})
