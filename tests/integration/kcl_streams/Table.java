import com.amazonaws.services.dynamodbv2.streamsadapter.AmazonDynamoDBStreamsAdapterClient;
import com.amazonaws.services.dynamodbv2.streamsadapter.StreamsSchedulerFactory;
import com.amazonaws.services.dynamodbv2.streamsadapter.model.DynamoDBStreamsProcessRecordsInput;
import com.amazonaws.services.dynamodbv2.streamsadapter.polling.DynamoDBStreamsPollingConfig;
import com.amazonaws.services.dynamodbv2.streamsadapter.processor.DynamoDBStreamsShardRecordProcessor;
import java.net.URI;
import java.util.UUID;
import software.amazon.awssdk.auth.credentials.*;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.cloudwatch.CloudWatchAsyncClient;
import software.amazon.awssdk.services.dynamodb.DynamoDbAsyncClient;
import software.amazon.awssdk.services.dynamodb.streams.DynamoDbStreamsClient;
import software.amazon.kinesis.common.*;
import software.amazon.kinesis.coordinator.*;
import software.amazon.kinesis.lifecycle.events.*;
import software.amazon.kinesis.metrics.NullMetricsFactory;

/** A KCL worker over a DynamoDB stream by the adapter: prints each record, checkpoints after each batch, until it is killed. */
public class Table {
    static class Reader implements DynamoDBStreamsShardRecordProcessor {
        String shard;
        public void initialize(InitializationInput in) { shard = in.shardId(); say("begin " + shard); }
        public void processRecords(DynamoDBStreamsProcessRecordsInput in) {
            in.records().forEach(r -> say("record " + shard + " " + r.getRecord().dynamodb().keys().get("id").s() + " " + r.getRecord().eventNameAsString()));
            if (!in.records().isEmpty()) try { in.checkpointer().checkpoint(); } catch (Exception e) { say("failed " + e); }
        }
        public void leaseLost(LeaseLostInput in) { say("lost " + shard); }
        public void shardEnded(ShardEndedInput in) { say("ended " + shard); try { in.checkpointer().checkpoint(); } catch (Exception e) { say("failed " + e); } }
        public void shutdownRequested(ShutdownRequestedInput in) { }
    }

    static synchronized void say(String what) { System.out.println(what); System.out.flush(); }

    public static void main(String[] a) throws Exception {
        URI endpoint = URI.create(a[0]); String app = a[1], stream = a[2];
        Region region = Region.US_EAST_1;
        AwsCredentialsProvider keys = StaticCredentialsProvider.create(AwsBasicCredentials.create("simulator", "simulator"));
        DynamoDbStreamsClient streams = DynamoDbStreamsClient.builder().endpointOverride(endpoint).region(region).credentialsProvider(keys).build();
        DynamoDbAsyncClient dynamo = DynamoDbAsyncClient.builder().endpointOverride(endpoint).region(region).credentialsProvider(keys).build();
        CloudWatchAsyncClient watch = CloudWatchAsyncClient.builder().endpointOverride(endpoint).region(region).credentialsProvider(keys).build();
        var adapter = new AmazonDynamoDBStreamsAdapterClient(streams, region);
        var start = InitialPositionInStreamExtended.newInitialPosition(InitialPositionInStream.TRIM_HORIZON);
        var tracker = StreamsSchedulerFactory.createSingleStreamTracker(stream, start);
        ConfigsBuilder c = new ConfigsBuilder(tracker, app, adapter, dynamo, watch, "java-" + UUID.randomUUID(), Reader::new);
        var coordinator = c.coordinatorConfig().clientVersionConfig(CoordinatorConfig.ClientVersionConfig.CLIENT_VERSION_CONFIG_3X);
        coordinator.shardConsumerDispatchPollIntervalMillis(200);
        coordinator.parentShardPollIntervalMillis(500);
        var leases = c.leaseManagementConfig().failoverTimeMillis(2000).shardSyncIntervalMillis(1000).leasesRecoveryAuditorExecutionFrequencyMillis(2000);
        leases.workerUtilizationAwareAssignmentConfig().workerMetricsReporterFreqInMillis(1000);
        var retrieval = c.retrievalConfig().retrievalSpecificConfig(new DynamoDBStreamsPollingConfig(stream, adapter).idleTimeBetweenReadsInMillis(200));
        Scheduler scheduler = StreamsSchedulerFactory.createScheduler(c.checkpointConfig(), coordinator, leases, c.lifecycleConfig(),
            c.metricsConfig().metricsFactory(new NullMetricsFactory()), c.processorConfig(), retrieval, adapter);
        scheduler.run();
    }
}
