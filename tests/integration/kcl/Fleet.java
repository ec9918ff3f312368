import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.UUID;
import software.amazon.awssdk.auth.credentials.*;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.cloudwatch.CloudWatchAsyncClient;
import software.amazon.awssdk.services.dynamodb.DynamoDbAsyncClient;
import software.amazon.awssdk.services.kinesis.KinesisAsyncClient;
import software.amazon.kinesis.common.*;
import software.amazon.kinesis.coordinator.*;
import software.amazon.kinesis.lifecycle.events.*;
import software.amazon.kinesis.metrics.*;
import software.amazon.kinesis.processor.*;
import software.amazon.kinesis.retrieval.RetrievalSpecificConfig;
import software.amazon.kinesis.retrieval.fanout.FanOutConfig;
import software.amazon.kinesis.retrieval.polling.PollingConfig;

/** A KCL worker over an endpoint of loopback: prints each record, checkpoints after each batch, ends by itself. */
public class Fleet {
    static volatile long last = System.currentTimeMillis();
    static volatile int seen = 0;

    static class Reader implements ShardRecordProcessor {
        String shard;
        public void initialize(InitializationInput in) { shard = in.shardId(); say("begin " + shard + " " + in.extendedSequenceNumber().sequenceNumber()); }
        public void processRecords(ProcessRecordsInput in) {
            in.records().forEach(r -> say("record " + shard + " " + StandardCharsets.UTF_8.decode(r.data()) + " " + r.sequenceNumber()));
            if (!in.records().isEmpty()) { last = System.currentTimeMillis(); seen += in.records().size();
                try { in.checkpointer().checkpoint(); } catch (Exception e) { say("failed " + e); } }
        }
        public void leaseLost(LeaseLostInput in) { say("lost " + shard); }
        public void shardEnded(ShardEndedInput in) { say("ended " + shard); try { in.checkpointer().checkpoint(); } catch (Exception e) { say("failed " + e); } last = System.currentTimeMillis(); }
        public void shutdownRequested(ShutdownRequestedInput in) { try { in.checkpointer().checkpoint(); } catch (Exception e) { say("failed " + e); } }
    }

    static synchronized void say(String what) { System.out.println(what); System.out.flush(); }

    public static void main(String[] a) throws Exception {
        URI endpoint = URI.create(a[0]); String app = a[1], stream = a[2]; int wanted = Integer.parseInt(a[3]); long limit = Long.parseLong(a[4]) * 1000;
        Region region = Region.US_EAST_1;
        AwsCredentialsProvider keys = StaticCredentialsProvider.create(AwsBasicCredentials.create("simulator", "simulator"));
        // As the KCL makes it: over HTTP/2, in CBOR.
        KinesisAsyncClient kinesis = KinesisClientUtil.createKinesisAsyncClient(
            KinesisAsyncClient.builder().endpointOverride(endpoint).region(region).credentialsProvider(keys));
        DynamoDbAsyncClient dynamo = DynamoDbAsyncClient.builder().endpointOverride(endpoint).region(region).credentialsProvider(keys).build();
        CloudWatchAsyncClient watch = CloudWatchAsyncClient.builder().endpointOverride(endpoint).region(region).credentialsProvider(keys).build();
        ConfigsBuilder c = new ConfigsBuilder(stream, app, kinesis, dynamo, watch, "java-" + UUID.randomUUID(), Reader::new);
        boolean fansOut = a.length > 5 && a[5].equals("fan-out");
        RetrievalSpecificConfig way = fansOut ? new FanOutConfig(kinesis).streamName(stream).applicationName(app) : new PollingConfig(stream, kinesis);
        var coordinator = c.coordinatorConfig().clientVersionConfig(CoordinatorConfig.ClientVersionConfig.CLIENT_VERSION_CONFIG_3X);
        coordinator.shardConsumerDispatchPollIntervalMillis(200);
        coordinator.parentShardPollIntervalMillis(500);
        var leases = c.leaseManagementConfig().failoverTimeMillis(2000).shardSyncIntervalMillis(1000).leasesRecoveryAuditorExecutionFrequencyMillis(2000);
        leases.workerUtilizationAwareAssignmentConfig().workerMetricsReporterFreqInMillis(1000);
        var retrieval = c.retrievalConfig().retrievalSpecificConfig(way)
            .initialPositionInStreamExtended(InitialPositionInStreamExtended.newInitialPosition(InitialPositionInStream.TRIM_HORIZON));
        Scheduler scheduler = new Scheduler(c.checkpointConfig(), coordinator, leases, c.lifecycleConfig(),
            c.metricsConfig().metricsFactory(new NullMetricsFactory()), c.processorConfig(), retrieval);
        Thread runs = new Thread(scheduler); runs.setDaemon(true); runs.start();
        long began = System.currentTimeMillis();
        while (System.currentTimeMillis() - began < limit && !(seen >= wanted && System.currentTimeMillis() - last > 3000)) Thread.sleep(100);
        say("seen " + seen);
        try { scheduler.startGracefulShutdown().get(20, java.util.concurrent.TimeUnit.SECONDS); } catch (Exception e) { say("shutdown " + e); }
        System.exit(seen >= wanted ? 0 : 1);
    }
}
