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
