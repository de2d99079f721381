import { createPublicKey } from 'node:crypto';

/** Says of a secret that is no readable private key which kind of text it looks like. Never quotes it. */
export function describeUnreadableKey(secret: string): string {
  const text = secret.trim();
  if (/^(["'`]).*\1$/s.test(text)) return 'it stands in quotes, which are taken as part of it';
  if (text.startsWith('-----')) return describePem(text.replaceAll('\\n', '\n'));
  const hex = text.replace(/^0x/i, '');
  if (/^[0-9a-f]+$/i.test(hex)) return describeHex(hex);
  if (/^M[A-Za-z0-9+/\s]{40,}=*$/.test(text))
    return 'it looks like DER in base64: write it in hex, or as PEM with its first and last line';
  return 'it is text, and a private key is 32 bytes in hex, PEM, or DER in hex';
}

function describePem(pem: string): string {
  const label = /^-----BEGIN ([A-Z0-9 ]+)-----/.exec(pem)?.[1] ?? '';
  if (/CERTIFICATE|PUBLIC/.test(label))
    return `it is a ${label.toLowerCase()}: the private key that belongs to it is needed`;
  if (label.startsWith('ENCRYPTED') || /^Proc-Type:.*ENCRYPTED/m.test(pem))
    return 'it is encrypted: store it without a passphrase, as `openssl pkey -in FILE` prints it';
  if (label.startsWith('OPENSSH')) return 'it has the format of OpenSSH: convert it to PKCS#8';
  if (!pem.includes('\n')) return 'it is PEM on one line: keep its line ends, or write them as \\n';
  if (!/\n-----END [A-Z0-9 ]+-----$/.test(pem))
    return 'it is PEM without its last line, -----END …';
  return 'it looks like PEM, but its content is not a private key';
}

function describeHex(hex: string): string {
  if (hex.length === 64) return 'it has 64 hexadecimal digits, but no private key has this value';
  if (isPublicKey(hex)) return 'it is a public key: the private key that belongs to it is needed';
  return `it has ${hex.length} hexadecimal digits: a bare private key has 64, a key in DER more`;
}

function isPublicKey(hex: string): boolean {
  if (/^(?:0[23][0-9a-f]{64}|04[0-9a-f]{128})$/i.test(hex)) return true;
  try {
    createPublicKey({ key: Buffer.from(hex, 'hex'), format: 'der', type: 'spki' });
    return true;
  } catch {
    return false;
  }
}
