/** Images of the tests' containers, unless TEST_POSTGRES_IMAGE and TEST_REDIS_IMAGE name others. */
export const usualImages = { postgres: 'postgres:18.1-alpine', redis: 'redis:8.2.3-alpine' };

export const postgresImage = process.env['TEST_POSTGRES_IMAGE'] || usualImages.postgres;
export const redisImage = process.env['TEST_REDIS_IMAGE'] || usualImages.redis;
