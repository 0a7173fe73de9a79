#!/bin/sh
# Installs the real packages into a directory, for the live test:
#   sh idempotent/powertools/live/setup.sh DIR
#   POWERTOOLS_LIVE=DIR go test ./idempotent/powertools -run Live
# Needs Node.js 20 with npm, and Python 3.10 with venv. No root.
set -eu
mkdir -p "$1"
cd "$1"
test -f package.json || npm init --yes >/dev/null
npm install --no-audit --no-fund --silent \
	@aws-lambda-powertools/idempotency@2.35.0 @aws-lambda-powertools/jmespath@2.35.0 \
	@aws-sdk/client-dynamodb@3 @aws-sdk/lib-dynamodb@3
python3 -m venv venv
venv/bin/pip install --quiet aws-lambda-powertools==3.37.0 boto3 jmespath==1.1.0
venv/bin/pip install --quiet --upgrade --no-deps --target oldest jmespath==1.0.1 # in front of the other by PYTHONPATH
