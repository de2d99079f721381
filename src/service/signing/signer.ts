/** What a signer sees of a request. Path and query are those on the wire; `body` is '' where there is none. */
export type RequestToSign = Readonly<{
  method: 'GET' | 'POST';
  url: URL;
  /** The full pathname, base path included. */
  path: string;
  /** Names and values before encoding, in the order of the wire. */
  query: ReadonlyArray<[string, string]>;
  /** The query string exactly as sent, without the question mark. */
  rawQuery: string;
  /** The body exactly as sent. */
  body: string;
  /** The fields of the body, where there is one. */
  json: Readonly<Record<string, unknown>> | undefined;
  nonce: string;
}>;

/** The value of BIZ-API-SIGNATURE; `nonce` replaces the one given, `headers` are sent in addition. */
type Signature = { signature: string; nonce?: string; headers?: Record<string, string> };

/** An answer as it came, before anything is read from it. */
export type AnswerToVerify = Readonly<{ status: number; headers: Headers; rawBody: string }>;

/** How a recipe came to its signature, for an operator who compares it with the service's own tools. */
type SigningDescription = {
  stringToSign: string;
  /** What the key signs, after the recipe's own hashing; null for a shared secret. */
  digestHex: string | null;
  publicKey: string | null;
};

/** Signs requests with the three headers of section 5 of the service's document. */
export type Signer = {
  /** The value of BIZ-API-KEY. */
  apiKey: string;
  /** Of a private key: the same text whatever recipe signs with it. Absent: only `apiKey` tells the keys apart. */
  publicKey?: string;
  /** Called once per attempt. */
  sign(request: RequestToSign): Promise<Signature> | Signature;
  /** Throws when the answer is not the service's own. Absent: answers are not signed. */
  verifyResponse?(answer: AnswerToVerify): Promise<void> | void;
  /** Absent for a signer of the user's own. */
  describe?(request: RequestToSign): SigningDescription;
};
