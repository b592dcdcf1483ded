import { expect, test } from 'vitest'
import {
  emptyHash,
  encodeKey,
  encodeS3,
  S3Signer,
  signingTime,
} from '../../../../services/drivers/s3a/signing.ts'

// The example "GET Object" of "Signature Calculations for the Authorization Header" in Amazon's reference.
test('a request is signed as the reference has it', () => {
  const credentials = {
    accessKey: 'AKIAIOSFODNN7EXAMPLE',
    secretKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  }
  const { authorization } = new S3Signer(credentials, 'us-east-1').sign({
    method: 'GET',
    path: '/test.txt',
    query: '',
    headers: [
      ['host', 'examplebucket.s3.amazonaws.com'],
      ['range', 'bytes=0-9'],
      ['x-amz-content-sha256', emptyHash],
      ['x-amz-date', '20130524T000000Z'],
    ],
    payload: emptyHash,
    time: '20130524T000000Z',
  })
  expect(authorization).toBe(
    'AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,' +
      'SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,' +
      'Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
  )
  expect(authorization).not.toContain(credentials.secretKey)
})

// "Signature calculations for trailing headers" in Amazon's reference.
test('a body in chunks, with its digest after it, is signed as the reference has it', () => {
  const credentials = {
    accessKey: 'AKIAIOSFODNN7EXAMPLE',
    secretKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  }
  const signer = new S3Signer(credentials, 'us-east-1')
  const time = '20130524T000000Z'
  let before = '106e2a8a18243abcf37539882f36619c00e2dfc72633413f02d3b74544bfeb8e'
  const signatures = [65_536, 1_024, 0].map(
    (length) => (before = signer.signChunk(time, before, Buffer.alloc(length, 'a'))),
  )
  expect(signatures).toEqual([
    'b474d8862b1487a5145d686f57f013e54db672cee1c953b3010fb58501ef5aa2',
    '1c1344b170168f8e65b41376b44b20fe354e373826ccbbe2c1d40a8cae51e5c7',
    '2ca2aba2005185cf7159c6277faf83795951dd77a3a99e6e65d5c9f85863f992',
  ])
  expect(signer.signTrailer(time, before, 'x-amz-checksum-crc32c:sOO8/Q==\n')).toBe(
    'd81f82fc3505edab99d459891051a732e8730629a2e4a59689829ca17fe2e435',
  )
})

// "get-vanilla" of Amazon's test suite for signatures.
test('a request to another service is signed for that', () => {
  const credentials = { accessKey: 'AKIDEXAMPLE', secretKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' }
  const { signature } = new S3Signer(credentials, 'us-east-1', 'service').sign({
    method: 'GET',
    path: '/',
    query: '',
    headers: [
      ['host', 'example.amazonaws.com'],
      ['x-amz-date', '20150830T123600Z'],
    ],
    payload: emptyHash,
    time: '20150830T123600Z',
  })
  expect(signature).toBe('5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31')
})

test('another region or day makes another key', () => {
  const signer = new S3Signer({ accessKey: 'key', secretKey: 'secret' }, 'us-east-1')
  const sign = (time: string) =>
    signer.sign({ method: 'GET', path: '/', query: '', headers: [['host', 'h']], payload: emptyHash, time })
  const first = sign('20260101T000000Z')
  expect(sign('20260101T000000Z')).toEqual(first)
  expect(sign('20260102T000000Z').signature).not.toBe(first.signature)
  signer.region = 'eu-west-1'
  expect(sign('20260101T000000Z').signature).not.toBe(first.signature)
})

test('names are encoded byte by byte, and slashes of keys stay', () => {
  expect(encodeS3("a b/ü(1)!*'~-_.")).toBe('a%20b%2F%C3%BC%281%29%21%2A%27~-_.')
  expect(encodeKey('folder/a b/ü+')).toBe('folder/a%20b/%C3%BC%2B')
})

test('the time is that of the protocol', () => {
  expect(signingTime(Date.parse('2026-01-02T03:04:05.678Z'))).toBe('20260102T030405Z')
})
