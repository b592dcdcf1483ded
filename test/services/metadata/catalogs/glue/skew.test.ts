import { expect, test } from 'vitest'
import { readSkewed, writeSkewed } from '../../../../../services/metadata/catalogs/glue/skew.ts'

test.each([
  [['1'], '1$1'],
  [['1', '2$3'], '1$13$2$3'],
  [['', 'ü', '😀'], '0$1$ü2$😀'],
])('%j is %s, and back', (values, text) => {
  expect(writeSkewed(values)).toBe(text)
  expect(readSkewed(text)).toEqual(values)
})

test.each(['plain', '9$short', '$', '1$ab', 'x1$a'])(
  '%s, which nobody has written so, is one value',
  (text) => {
    expect(readSkewed(text)).toEqual([text])
  },
)
